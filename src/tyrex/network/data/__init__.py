"""The data plane: order, hosting of engines, histories, push and pull, of one tree at one processor."""
