from headrace.controller.zookeeper.transaction import Action, Operation, Transaction


def test_operations_stand_in_the_order_in_which_they_were_added():
    transaction = Transaction()
    transaction.check("/e", 3)
    transaction.create("/a", b"1", is_ephemeral=True)
    transaction.set("/b", b"2", 7)
    transaction.delete("/c")
    assert transaction.operations == [
        Operation(Action.CHECK, "/e", version=3),
        Operation(Action.CREATE, "/a", b"1", is_ephemeral=True),
        Operation(Action.SET, "/b", b"2", 7),
        Operation(Action.DELETE, "/c"),
    ]
