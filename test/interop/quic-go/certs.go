package main

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"flag"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	organization = "Orchestra"
	certLifetime = 365 * 24 * time.Hour
)

// An authority signs certificates. Its key is missing where only its certificate was handed out.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
}

func (a authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// identity loads the folder's authority and the certificate of that name. What is missing is made.
func identity(dir, name string) (authority, tls.Certificate, error) {
	ca, err := ensureAuthority(dir)
	if err != nil {
		return authority{}, tls.Certificate{}, err
	}
	cert, err := ensureLeaf(dir, name, ca, "ed25519", certLifetime)
	return ca, cert, err
}

func ensureAuthority(dir string) (authority, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return authority{}, err
	}
	unlock, err := lockFolder(dir)
	if err != nil {
		return authority{}, err
	}
	defer unlock()
	certFile, keyFile := filepath.Join(dir, "ca.crt"), filepath.Join(dir, "ca.key")
	if _, err := os.Stat(certFile); err == nil {
		return loadAuthority(certFile, keyFile)
	}
	ca, err := newAuthority("Orchestra CA")
	if err != nil {
		return authority{}, err
	}
	return ca, writePair(certFile, keyFile, ca.cert.Raw, ca.key)
}

func loadAuthority(certFile, keyFile string) (authority, error) {
	text, err := os.ReadFile(certFile)
	if err != nil {
		return authority{}, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return authority{}, fmt.Errorf("cannot read %s: no PEM block in it", certFile)
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return authority{}, fmt.Errorf("cannot read %s: %w", certFile, err)
	}
	ca := authority{cert: cert}
	if pair, err := tls.LoadX509KeyPair(certFile, keyFile); err == nil {
		ca.key = pair.PrivateKey.(crypto.Signer)
	}
	return ca, nil
}

func newAuthority(name string) (authority, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return authority{}, err
	}
	template := certTemplate(name, certLifetime)
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.MaxPathLen = 1
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		return authority{}, err
	}
	cert, err := x509.ParseCertificate(der)
	return authority{cert: cert, key: private}, err
}

func ensureLeaf(dir, name string, ca authority, keyType string, life time.Duration) (tls.Certificate, error) {
	unlock, err := lockFolder(dir)
	if err != nil {
		return tls.Certificate{}, err
	}
	defer unlock()
	certFile, keyFile := filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
	if _, err := os.Stat(certFile); err == nil {
		return tls.LoadX509KeyPair(certFile, keyFile)
	}
	cert, err := newLeaf(name, ca, keyType, life)
	if err != nil {
		return tls.Certificate{}, err
	}
	return cert, writePair(certFile, keyFile, cert.Certificate[0], cert.PrivateKey)
}

// newLeaf makes a certificate for both directions. A negative life makes one that has expired.
func newLeaf(name string, ca authority, keyType string, life time.Duration) (tls.Certificate, error) {
	template := certTemplate(name, life)
	template.DNSNames = []string{name, "localhost"}
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	return signLeaf(template, ca, keyType)
}

func signLeaf(template *x509.Certificate, ca authority, keyType string) (tls.Certificate, error) {
	if ca.key == nil {
		name := template.Subject.CommonName
		return tls.Certificate{}, fmt.Errorf("cannot make a certificate for %s: no ca.key", name)
	}
	key, err := newKey(keyType)
	if err != nil {
		return tls.Certificate{}, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	der, err := x509.CreateCertificate(rand.Reader, template, ca.cert, key.Public(), ca.key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

func newKey(keyType string) (crypto.Signer, error) {
	switch keyType {
	case "ed25519":
		_, key, err := ed25519.GenerateKey(rand.Reader)
		return key, err
	case "p256":
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "rsa":
		return rsa.GenerateKey(rand.Reader, 2048)
	}
	return nil, usageError{fmt.Sprintf("--key %q: ed25519, p256 or rsa", keyType)}
}

func certTemplate(name string, life time.Duration) *x509.Certificate {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		panic(err)
	}
	notBefore := time.Now().Add(-time.Minute)
	if life < 0 {
		notBefore = time.Now().Add(life - time.Hour)
	}
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name, Organization: []string{organization}},
		NotBefore:    notBefore,
		NotAfter:     time.Now().Add(life),
	}
}

func writePair(certFile, keyFile string, der []byte, key crypto.PrivateKey) error {
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	// The certificate goes last: where it is, the key is too.
	if err := writePEM(keyFile, "PRIVATE KEY", pkcs8); err != nil {
		return err
	}
	return writePEM(certFile, "CERTIFICATE", der)
}

func writePEM(file, kind string, bytes []byte) error {
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}), 0o600)
}

// lockFolder keeps two processes from making the same certificates at once.
func lockFolder(dir string) (unlock func(), err error) {
	folder, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(folder.Fd()), syscall.LOCK_EX); err != nil {
		folder.Close()
		return nil, err
	}
	return func() { folder.Close() }, nil
}

func runCerts(_ context.Context, flags *flag.FlagSet, args []string) error {
	dir := flags.String("certs-dir", "", "folder of the certificates")
	name := flags.String("name", "", "whose certificate")
	key := flags.String("key", "ed25519", "ed25519, p256 or rsa")
	life := flags.Duration("life", certLifetime, "negative: it has expired")
	if err := parse(flags, args, "certs-dir", "name"); err != nil {
		return err
	}
	ca, err := ensureAuthority(*dir)
	if err != nil {
		return err
	}
	pair, err := ensureLeaf(*dir, *name, ca, *key, *life)
	if err != nil {
		return err
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return err
	}
	_, err = leaf.Verify(x509.VerifyOptions{Roots: ca.pool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	line := fields{
		"ca": ca.cert.Subject.String(), "subject": leaf.Subject.String(), "names": leaf.DNSNames,
		"addresses": leaf.IPAddresses, "key": leaf.PublicKeyAlgorithm.String(),
		"notAfter": leaf.NotAfter.UTC().Format(time.RFC3339), "valid": err == nil,
	}
	if err != nil {
		line["problem"] = err.Error()
	}
	report(line)
	return nil
}
