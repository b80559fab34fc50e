"""The control plane: neighbours, trees, tables, election, epochs, deployment."""
