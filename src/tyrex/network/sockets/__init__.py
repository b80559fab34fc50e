"""Processors as processes: brokers that talk over sockets, and clients of them."""
