// A bulk download over quic-go: bulk serve PORT, and bulk fetch ADDRESS PORT SECONDS.
//
// The server sends to whoever opens a stream until that is closed. The client says at its end how
// many bytes came. Both log into the directory $QLOGDIR.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"math/big"
	"net"
	"os"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlog"
)

const (
	protocol = "bulk"
	piece    = 1 << 16
	// Flow control is not what is looked at: so much may be on its way.
	window = 64 << 20
)

func main() {
	words := os.Args[1:]
	var err error
	switch {
	case len(words) == 2 && words[0] == "serve":
		err = serve(words[1])
	case len(words) == 4 && words[0] == "fetch":
		err = fetch(net.JoinHostPort(words[1], words[2]), words[3])
	default:
		err = errors.New("bulk serve PORT, or bulk fetch ADDRESS PORT SECONDS")
	}
	if err != nil {
		log.Fatal(err)
	}
}

func config() *quic.Config {
	return &quic.Config{
		Tracer:                     qlog.DefaultConnectionTracer,
		InitialStreamReceiveWindow: window, MaxStreamReceiveWindow: window,
		InitialConnectionReceiveWindow: window, MaxConnectionReceiveWindow: window,
	}
}

func serve(port string) error {
	certificate, err := selfSigned()
	if err != nil {
		return err
	}
	how := &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{protocol}}
	listener, err := quic.ListenAddr(net.JoinHostPort("", port), how, config())
	if err != nil {
		return err
	}
	for {
		connection, err := listener.Accept(context.Background())
		if err != nil {
			return err
		}
		go send(connection)
	}
}

func send(connection *quic.Conn) {
	stream, err := connection.AcceptStream(context.Background())
	for err == nil {
		_, err = stream.Write(make([]byte, piece))
	}
}

func fetch(address string, seconds string) error {
	lasts, err := time.ParseDuration(seconds + "s")
	if err != nil {
		return err
	}
	begin := time.Now()
	how := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocol}}
	connection, err := quic.DialAddr(context.Background(), address, how, config())
	if err != nil {
		return err
	}
	stream, err := connection.OpenStreamSync(context.Background())
	if err != nil {
		return err
	}
	if _, err := stream.Write([]byte("go")); err != nil {
		return err
	}
	if err := stream.SetReadDeadline(begin.Add(lasts)); err != nil {
		return err
	}
	total, buffer := 0, make([]byte, piece)
	for err == nil {
		var count int
		count, err = stream.Read(buffer)
		total += count
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	told, err := json.Marshal(map[string]any{"bytes": total, "seconds": time.Since(begin).Seconds()})
	if err != nil {
		return err
	}
	fmt.Println(string(told))
	return connection.CloseWithError(0, "")
}

// A certificate that nobody looks at.
func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1)}
	made, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	return tls.Certificate{Certificate: [][]byte{made}, PrivateKey: key}, err
}
