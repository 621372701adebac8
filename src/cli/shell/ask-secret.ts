import { once } from "node:events";

const ENTER = /[\r\n]/;
const INTERRUPT = "\u0003";
const ERASE = /[\b\u007f]/;

/** Asks at the terminal for something that is not shown while it is typed. */
export async function askSecret(question: string): Promise<string> {
  const { stdin, stderr } = process;
  stderr.write(question);
  stdin.setRawMode(true);
  stdin.resume();
  let typed = "";
  try {
    for (;;) {
      const [chunk] = (await once(stdin, "data")) as [Buffer];
      for (const key of chunk.toString("utf8")) {
        if (key === INTERRUPT) process.exit(130);
        if (ENTER.test(key)) return typed;
        typed = ERASE.test(key) ? typed.slice(0, -1) : typed + key;
      }
    }
  } finally {
    stdin.setRawMode(false);
    stdin.pause();
    stderr.write("\n");
  }
}
