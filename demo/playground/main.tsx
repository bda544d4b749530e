// Starts the playground.

import { render } from 'preact';
import { keepOffline } from '../offline/register.ts';
import { EXAMPLES } from './examples.ts';
import { Playground } from './playground.tsx';
import { isUnchanged, openFirst, project } from './project.ts';
import { callMethod, objects, run, runner, target } from './session.ts';
import { allowChecks } from './type-check.ts';

const root = document.getElementById('app')!;

await openFirst();
root.replaceChildren();
render(<Playground />, root);
keepOffline();
// The visitor's own code runs at once. Code from a link waits for a click, at every visit.
if (project.value.kind === 'own') void begin().finally(allowChecks);
else allowChecks();

async function begin(): Promise<void> {
  await run();
  const { first = [] } = EXAMPLES.find(({ id }) => id === project.value.id) ?? {};
  const running = runner.value;
  // The first calls are made only in unchanged code, because the visitor may have given the methods another meaning.
  if (running === null || objects.value.length > 0 || !isUnchanged(project.value)) return;
  const object = target.value;
  for (const { method, args } of first) {
    // The visitor may run other code meanwhile.
    if (runner.value === running) await callMethod(object, method, args);
  }
}
