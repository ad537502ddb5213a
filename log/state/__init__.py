"""What a log knows beside its batches: producers, leader epochs, checkpoints."""
