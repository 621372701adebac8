/** What the program tells the engine when it asks for a listener or a connection. */
export interface TlsSettings {
  /** Certificates in PEM that may vouch for the peer, and no others. */
  readonly ca: string;
  /** Our certificate, then those that lead to the CA, in PEM. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  readonly alpn: string;
}

export interface EndpointSettings {
  /** An IP address. */
  readonly host: string;
  readonly port: number;
  readonly tls: TlsSettings;
  readonly idleTimeout: number;
  readonly keepAlive: number;
  readonly handshakeTimeout: number;
}

export interface DialSettings extends EndpointSettings {
  /** The name or IP address that the server's certificate must carry. */
  readonly serverName: string;
}

export interface ListenSettings extends EndpointSettings {
  readonly clientCertificate: "require" | "request";
  readonly maxConnections: number;
  readonly maxStreams: number;
}

/** Why a connection ended or could not be opened, as a stable name. */
export type QuicFailure =
  | "wrong-ca"
  | "no-certificate"
  | "bad-certificate"
  | "expired"
  | "wrong-name"
  | "wrong-alpn"
  | "refused"
  | "timeout"
  | "idle"
  | "silent"
  | "network"
  | "protocol"
  | "full"
  | "closed"
  | "engine"
  | "reset"
  | "limit"
  | "cancelled"
  | "unusable";

export interface EndReason {
  readonly trouble: QuicFailure;
  readonly detail: string;
  /** The code that the closing side gave. */
  readonly code?: number;
  readonly byPeer?: boolean;
}

export interface ConnectedPeer {
  /** The listener that accepted it. */
  readonly listener?: number | undefined;
  /** The peer's certificate, DER in base64. */
  readonly certificate?: string | undefined;
}
