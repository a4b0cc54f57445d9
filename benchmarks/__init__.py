"""The evidence behind fewlabel: papers rerun (`papers`), quality on many tables (`quality`), speed (`speed`)."""
