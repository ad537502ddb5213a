"""Three nodes at the inter.broker.protocol.version of 2.6: leaders write ISRs themselves, and note it for the controller."""

from kazoo.client import KazooClient

from tests.e2e.test_three_nodes import check_isrs, running
from tests.support.waiting import wait_until


def test_isrs_shrink_where_a_node_goes_and_are_whole_again_once_it_is_back(tmp_path):
    with running(tmp_path, "inter.broker.protocol.version=2.6") as nodes:
        check_isrs(nodes)
        client = KazooClient(nodes.zookeeper)
        client.start()
        try:
            assert client.get("/isr_change_notification")[1].cversion > 0  # that is how it went
            wait_until(lambda: client.get_children("/isr_change_notification") == [])
        finally:
            client.stop()
            client.close()
