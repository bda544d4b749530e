// Bindings of `env`: the same questions in workerd and here.

import { describe, expect, test } from 'vitest';
import { createObjects } from '../../../worker/start/entries/node-objects.ts';
import { differs } from '../versions.ts';
import {
  type Answers,
  ASKED_BINDINGS,
  type AskedBinding,
  askedInWorkerd,
} from './asked-bindings.ts';

async function askInNode({ ask, bindings }: AskedBinding): Promise<Answers> {
  const fetch = async (_request: Request, env: object) => Response.json(await ask(env));
  const { worker, close } = await createObjects({}, { exports: { default: { fetch } }, bindings });
  try {
    return (await (await worker.fetch('http://here/')).json()) as Answers;
  } finally {
    await close();
  }
}

const RULES = {
  kv: '[BKV1]',
  d1: '[BDB1]',
  'd1 libraries': '[BDB1]',
  r2: '[BRT1]',
  'rate limits': '[BRL1]',
} as const;

for (const asked of ASKED_BINDINGS) {
  describe(asked.kind, async () => {
    const [there, here] = await Promise.all([askedInWorkerd(asked), askInNode(asked)]);
    test.for(Object.keys(there))(`${RULES[asked.kind]} %s`, (question) => {
      if (differs(`${asked.kind}: ${question}`)) {
        expect(here[question]).not.toEqual(there[question]);
      } else expect(here[question]).toEqual(there[question]);
    });
  });
}
