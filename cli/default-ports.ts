/**
 * Where a local stack and its console listen unless somebody says another port. What cannot import
 * this names the port of the API in text: test/tidy/single-sources.ts compares.
 */
export const defaultPorts = { api: 4600, dynamodb: 4601, kinesis: 4602, console: 4603 } as const;
