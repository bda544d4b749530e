// Runs seeds until one fails, and prints the failure, or nothing. It is bundled with a defect put back, and runs as a
// separate process.

import { type Layer, Rounds } from '../rounds.ts';

const [layer, seeds] = process.argv.slice(2);
console.error = () => {};
console.warn = () => {};
const rounds = await Rounds.of(layer as Layer);
rounds.watchRejections();
for (const seed of seeds!.split(',').map(Number)) {
  const { failures } = await rounds.run([seed], { shrinks: false });
  if (failures.length === 0) continue;
  process.stdout.write(`seed ${seed}: ${failures[0]!.fact}\n`);
  break;
}
process.exit();
