// Runs all browser tests. Says what failed, and ends with 1 if anything did.

import { Tester, startServer } from "./harness.mjs";
import { chat } from "./chat.mjs";
import { keys } from "./keys.mjs";
import { modules } from "./modules.mjs";
import { prose } from "./prose.mjs";
import { replies } from "./replies.mjs";
import { screens } from "./screens.mjs";

const { WEFT_URL: url, WEFT: weft, WEFT_MODEL: model, CHROMIUM: chromium, SHOTS: shots } = process.env;
const only = process.argv.slice(2);
const server = await startServer({ url, weft, model });
const tester = await Tester.launch(chromium, server.url, shots);
let failed;
try {
  for (const suite of [modules, chat, replies, prose, screens, keys]) {
    if (only.length === 0 || only.includes(suite.name)) await suite(tester, { url, weft, model });
  }
} finally {
  failed = await tester.close();
  await server.stop();
}
if (failed > 0) {
  console.log(`${failed} failed`);
  process.exit(1);
}
