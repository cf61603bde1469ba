// Says of each file what kind of diagram Mermaid takes it for; "refused" if its parser does not take it.
import { readFileSync } from "node:fs";
import { JSDOM } from "jsdom";

const { window } = new JSDOM("");
Object.assign(globalThis, { window, document: window.document });
const { default: mermaid } = await import("mermaid");
for (const file of process.argv.slice(2)) {
  try {
    console.log((await mermaid.parse(readFileSync(file, "utf8"))).diagramType);
  } catch (error) {
    console.log("refused");
    console.error(file, error.message);
  }
}
