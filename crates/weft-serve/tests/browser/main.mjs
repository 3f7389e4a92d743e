// Runs all browser tests, each suite in a browser of its own. Says what failed, and ends with 1 if anything did. With `--again`, a suite
// that fails is run once more: a browser on a busy machine can be late or die, and what fails twice is broken.

import { Tester, startServer } from "./harness.mjs";
import { chat } from "./chat.mjs";
import { keys } from "./keys.mjs";
import { modules } from "./modules.mjs";
import { prose } from "./prose.mjs";
import { replies } from "./replies.mjs";
import { screens } from "./screens.mjs";

const { WEFT_URL: url, WEFT: weft, WEFT_MODEL: model, CHROMIUM: chromium, SHOTS: shots } = process.env;
const again = process.argv.includes("--again");
const only = process.argv.slice(2).filter((argument) => argument !== "--again");

/** Runs a suite against a server in a fresh browser. Returns the number of checks that failed. */
async function run(suite, server) {
  const tester = await Tester.launch(chromium, server.url, shots);
  try {
    await suite(tester, { url, weft, model });
  } catch (error) {
    tester.failed(suite.name, error);
  }
  return tester.close();
}

const server = await startServer({ url, weft, model });
let failed = 0;
try {
  for (const suite of [modules, chat, replies, prose, screens, keys]) {
    if (only.length > 0 && !only.includes(suite.name)) continue;
    let found = await run(suite, server);
    if (found > 0 && again) {
      console.log(`${suite.name}: ${found} failed, and all are run again`);
      found = await run(suite, server);
    }
    failed += found;
  }
} finally {
  await server.stop();
}
if (failed > 0) {
  console.log(`${failed} failed`);
  process.exit(1);
}
