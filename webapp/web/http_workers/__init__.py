"""The protocol by which programs work off a stage: claim, read, save, store a result, end."""
