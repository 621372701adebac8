// Long: hostile bytes for an orchestrator.
import { rounds } from "../support/full-run.ts";
import { fuzzBus } from "./bus-suite.ts";

// Over QUIC, and as many over TLS.
fuzzBus(rounds({ few: 500, all: 500_000 }));
