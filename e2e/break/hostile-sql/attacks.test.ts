// Every attack in workerd and here: our storage protects its own tables as workerd does.

import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { createObjects, DurableObject } from '../../../worker/start/entries/node-objects.ts';
import { askWorkerd } from '../../workerd/workerd.ts';
import { ATTACKS } from './attacks.ts';
import { type AttackedStorage, take } from './steps.ts';

type Answers = Readonly<Record<string, readonly string[]>>;

/** Each step is a call of its own, as an attacker whose object was reset would go on. */
const MAIN = `
  import { DurableObject } from 'cloudflare:workers';
  import { ATTACKS } from './attacks.ts';
  import { take } from './steps.ts';
  export class Target extends DurableObject {
    take(step) { return take(this.ctx.storage, step); }
    alarm() {}
  }
  export default {
    async fetch(_request, { TARGET }) {
      const answers = {};
      for (const [name, { steps }] of Object.entries(ATTACKS)) {
        const target = TARGET.get(TARGET.newUniqueId());
        answers[name] = [];
        for (const step of steps) answers[name].push(await target.take(step));
      }
      return Response.json(answers);
    },
  };
`;

class Target extends DurableObject {
  take(step: string): Promise<string> {
    return take(this.ctx.storage as unknown as AttackedStorage, step);
  }
  alarm(): void {}
}

async function askHere(): Promise<Answers> {
  const { env, close } = await createObjects({ Target });
  const answers: Record<string, string[]> = {};
  for (const [name, { steps }] of Object.entries(ATTACKS)) {
    const target = env.Target.getByName(name);
    const taken: string[] = [];
    for (const step of steps) taken.push(await target.take(step));
    answers[name] = taken;
  }
  await close();
  return answers;
}

describe('attacks', async () => {
  const [there, here] = await Promise.all([
    askWorkerd({
      main: MAIN,
      folder: fileURLToPath(new URL('.', import.meta.url)),
      classes: { TARGET: 'Target' },
      compatibilityDate: '2026-01-01',
      isSilent: true,
    }) as Promise<Answers>,
    askHere(),
  ]);

  test.for(Object.entries(ATTACKS))('[SQL22] %s', ([name, { steps, here: different = {} }]) => {
    const expected = there[name]!.map((answer, index) => different[index] ?? answer);
    const withSteps = (answers: readonly string[]) =>
      answers.map((answer, index) => `${steps[index]} → ${answer}`);
    expect(withSteps(here[name]!)).toEqual(withSteps(expected));
  });
});
