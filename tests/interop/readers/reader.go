// Reads partition 0 of a topic up to its last record with kafka-go or sarama, and prints the offset of each record.
//   CLIENT BOOTSTRAP TOPIC LAST_OFFSET       CLIENT: kafka-go, kafka-go-group, sarama
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strconv"
	"time"

	"github.com/IBM/sarama"
	"github.com/segmentio/kafka-go"
)

const deadline = 40 * time.Second

func main() {
	client, bootstrap, topic := os.Args[1], os.Args[2], os.Args[3]
	last, err := strconv.ParseInt(os.Args[4], 10, 64)
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	if client == "sarama" {
		readBySarama(ctx, bootstrap, topic, last)
	} else {
		readByKafkaGo(ctx, client, bootstrap, topic, last)
	}
}

func readByKafkaGo(ctx context.Context, client, bootstrap, topic string, last int64) {
	config := kafka.ReaderConfig{Brokers: []string{bootstrap}, Topic: topic, MaxWait: 200 * time.Millisecond}
	if client == "kafka-go-group" {
		config.GroupID, config.StartOffset = "kafka-go", kafka.FirstOffset
	}
	reader := kafka.NewReader(config)
	defer reader.Close()
	for {
		message, err := reader.ReadMessage(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(message.Offset)
		if message.Offset >= last {
			return
		}
	}
}

func readBySarama(ctx context.Context, bootstrap, topic string, last int64) {
	config := sarama.NewConfig()
	config.Version = sarama.V2_8_0_0
	config.Consumer.Return.Errors = true
	consumer, err := sarama.NewConsumer([]string{bootstrap}, config)
	if err != nil {
		log.Fatal(err)
	}
	defer consumer.Close()
	partition, err := consumer.ConsumePartition(topic, 0, sarama.OffsetOldest)
	if err != nil {
		log.Fatal(err)
	}
	for {
		select {
		case message := <-partition.Messages():
			fmt.Println(message.Offset)
			if message.Offset >= last {
				return
			}
		case failure := <-partition.Errors():
			log.Fatal(failure)
		case <-ctx.Done():
			log.Fatal("no end within the deadline")
		}
	}
}
