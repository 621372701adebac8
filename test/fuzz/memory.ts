import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Bytes this process keeps after a collection, on the heap and in buffers. */
export function bytesInUse(): number {
  // Buffers are freed on another thread; the next collection waits for it.
  for (let round = 0; round < 2; round++) collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
