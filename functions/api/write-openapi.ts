/** `npm run openapi`: writes docs/openapi.json. */
import { writeFileSync } from "node:fs";
import { openApiText } from "./openapi.ts";

writeFileSync(new URL("../../docs/openapi.json", import.meta.url), openApiText());
