// The yardstick: the least a Node program can do to give requests ids of its own and answers theirs.
import { Socket } from "node:net";

const right = new Socket({ fd: 3, readable: true, writable: true });
const asked = new Map();
let lastId = 0;

function pass(from, to, setId) {
  let rest = "";
  from.setEncoding("utf8");
  from.on("data", (chunk) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop();
    let passed = "";
    for (const line of lines) {
      const message = JSON.parse(line);
      if (message.id !== undefined) setId(message);
      passed += JSON.stringify(message) + "\n";
    }
    to.write(passed);
  });
}

pass(process.stdin, right, (request) => {
  lastId++;
  asked.set(lastId, request.id);
  request.id = lastId;
});
pass(right, process.stdout, (answer) => {
  const ours = answer.id;
  answer.id = asked.get(ours);
  asked.delete(ours);
});
process.stdin.on("end", () => right.destroy());
