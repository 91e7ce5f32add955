"""The pipeline player: a schedule's computations, messages, bubble and held activations over one time."""
