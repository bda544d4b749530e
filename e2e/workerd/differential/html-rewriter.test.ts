// `HTMLRewriter`: the same questions in workerd and here.

import { describe, expect, test } from 'vitest';
import { createObjects } from '../../../worker/start/entries/node-objects.ts';
import { differs } from '../versions.ts';
import { askWorkerd } from '../workerd.ts';
import { htmlRewriterAll } from './html-rewriter.ts';

type Answers = Readonly<Record<string, unknown>>;

async function askInWorkerd(): Promise<Answers> {
  const answers = await askWorkerd({
    main: `
      import { htmlRewriterAll } from './html-rewriter.ts';
      export default { fetch: async () => Response.json(await htmlRewriterAll()) };`,
    folder: import.meta.dirname,
    classes: {},
    compatibilityDate: '2026-07-01',
    isSilent: true,
  });
  return answers as Answers;
}

async function askInNode(): Promise<Answers> {
  const fetch = async () => Response.json(await htmlRewriterAll());
  const { worker, close } = await createObjects({}, { exports: { default: { fetch } } });
  try {
    return (await (await worker.fetch('http://here/')).json()) as Answers;
  } finally {
    await close();
  }
}

describe('HTMLRewriter', async () => {
  const [there, here] = await Promise.all([askInWorkerd(), askInNode()]);
  const ask = (question: string) => {
    if (differs(`html: ${question}`)) expect(here[question]).not.toEqual(there[question]);
    else expect(here[question]).toEqual(there[question]);
  };
  const isParsing = (question: string) => /^(?:parsing|selector|refused):/.test(question);
  const questions = Object.keys(there);
  test.for(questions.filter((question) => !isParsing(question)))('[HTML1] %s', ask);
  test.for(questions.filter(isParsing))('[HTML2] %s', ask);
});
