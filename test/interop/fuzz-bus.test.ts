import { fuzzBus } from "../fuzz/bus-suite.ts";

// Over QUIC, and as many over TLS.
fuzzBus(500_000);
