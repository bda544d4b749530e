// Runs one scenario, and prints the message of the first error that its users would see, or nothing. It is bundled with a
// defect put back, and runs as a separate process, which fails if a call of the scenario never settles.

import { SCENARIOS, type ScenarioName } from './scenarios.ts';

let first: string | undefined;
const see = (error: unknown) => {
  first ??= error instanceof Error ? error.message : String(error);
};
process.on('uncaughtException', see);
process.on('unhandledRejection', see);
console.error = () => {};
await SCENARIOS[process.argv[2] as ScenarioName](see).catch(see);
process.stdout.write(first ?? '');
process.exit();
