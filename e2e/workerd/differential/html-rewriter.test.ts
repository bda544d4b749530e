// `HTMLRewriter`: the same questions, and the same random documents, in workerd and here.

import { describe, expect, test } from 'vitest';
import { createObjects } from '../../../packages/entries/node.ts';
import { differs, NEWEST } from '../versions.ts';
import { askWorkerd } from '../workerd.ts';
import { type RandomAnswer, randomAll } from './html-random.ts';
import { htmlRewriterAll } from './html-rewriter.ts';

interface Answers {
  readonly asked: Readonly<Record<string, unknown>>;
  readonly random: readonly RandomAnswer[];
}

async function askInWorkerd(): Promise<Answers> {
  const answers = await askWorkerd({
    main: `
      import { randomAll } from './html-random.ts';
      import { htmlRewriterAll } from './html-rewriter.ts';
      export default {
        fetch: async () => Response.json({ asked: await htmlRewriterAll(), random: await randomAll() }),
      };`,
    folder: import.meta.dirname,
    classes: {},
    compatibilityDate: '2026-07-01',
    isSilent: true,
  });
  return answers as Answers;
}

async function askInNode(): Promise<Answers> {
  const fetch = async () =>
    Response.json({ asked: await htmlRewriterAll(), random: await randomAll() });
  const { worker, close } = await createObjects({}, { exports: { default: { fetch } } });
  try {
    return (await (await worker.fetch('http://here/')).json()) as Answers;
  } finally {
    await close();
  }
}

describe('HTMLRewriter', async () => {
  const [there, here] = await Promise.all([askInWorkerd(), askInNode()]);
  const compare = (question: string) => {
    const [answer, expected] = [here.asked[question], there.asked[question]];
    if (differs(`html: ${question}`)) expect(answer).not.toEqual(expected);
    else expect(answer).toEqual(expected);
  };
  const isParsing = (question: string) => /^(?:parsing|selector|refused):/.test(question);
  const questions = Object.keys(there.asked);
  test.for(questions.filter((question) => !isParsing(question)))('[HTML1] %s', compare);
  test.for(questions.filter(isParsing))('[HTML2] %s', compare);

  test('[HTML1] [HTML2] random documents', () => {
    const isNewest = process.env.MINIFLARE_WORKERD_PATH === NEWEST;
    // The older version ends SVG and MathML elsewhere.
    const isCompared = ({ html }: RandomAnswer) => isNewest || !/<(?:svg|math)/.test(html);
    expect(here.random.filter(isCompared)).toEqual(there.random.filter(isCompared));
  });
});
