// A member of a group by franz-go: member BOOTSTRAP TOPIC GROUP; what it says is in tests/chaos/mixed_group.py.
package main

import (
	"context"
	"encoding/json"
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"github.com/twmb/franz-go/pkg/kgo"
)

func monotonic() int64 {
	var now syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&now)), 0)
	return now.Nano()
}

func say(name string, value any) {
	line, _ := json.Marshal(map[string]any{"t": monotonic(), name: value})
	os.Stdout.Write(append(line, '\n'))
}

func main() {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(os.Args[1]),
		kgo.ConsumeTopics(os.Args[2]),
		kgo.ConsumerGroup(os.Args[3]),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
		kgo.SessionTimeout(6*time.Second),
		kgo.HeartbeatInterval(500*time.Millisecond),
		kgo.BlockRebalanceOnPoll(),
		kgo.FetchMaxWait(200*time.Millisecond),
	)
	if err != nil {
		panic(err)
	}
	for {
		fetches := client.PollRecords(context.Background(), 50)
		records := fetches.Records()
		if len(records) > 0 {
			read := [][]int64{}
			ends := map[string]int64{}
			for _, record := range records {
				read = append(read, []int64{int64(record.Partition), record.Offset})
				ends[strconv.Itoa(int(record.Partition))] = record.Offset + 1
			}
			say("read", read)
			if err := client.CommitRecords(context.Background(), records...); err != nil {
				say("refused", err.Error())
			} else {
				say("committed", ends)
			}
		}
		client.AllowRebalance()
	}
}
