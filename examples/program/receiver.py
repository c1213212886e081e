"""Answers each datagram with the number in it. Usage: python3 receiver.py"""

import socket

PORT = 5001


def main() -> None:
    endpoint = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    endpoint.bind(("", PORT))
    while True:
        datagram, sender = endpoint.recvfrom(2000)
        endpoint.sendto(datagram[:8], sender)


if __name__ == "__main__":
    main()
