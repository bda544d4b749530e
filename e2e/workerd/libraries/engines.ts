// The programs of the suite in each engine. Both give plain data, as JSON has it.

import type { Page } from '@playwright/test';
import type { Miniflare } from 'miniflare';
import type { Ask, Talk } from './listener.ts';
import type { Program } from './programs.ts';

/** A program's findings, by name. */
export type Findings = Readonly<Record<string, unknown>>;

interface Runs {
  run(): Promise<unknown>;
  fetch(url: string, init?: object): ReturnType<Ask>;
}

export async function inWorkerd(workerd: Miniflare, program: Program): Promise<Findings> {
  const { className, runs, talk } = program;
  const ask: Ask = (url, init) => workerd.dispatchFetch(url, init);
  return {
    ...(runs && ((await (await ask(`http://libraries/${className}/one`)).json()) as Findings)),
    ...(talk && (await talk.with(ask))),
  };
}

/** Starts a worker with the classes; to be called once for a page, before `inBrowser`. */
export async function startInBrowser(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const connection = await window.api.connect<Record<string, Runs>>(
      () => new Worker('/e2e/workerd/libraries/worker.ts', { type: 'module' }),
      { directory: 'libraries' },
    );
    Object.assign(window, { libraries: connection.env });
  });
}

// Functions with names of their own do not survive the way into the page when tsx compiles this.
export function inBrowser(page: Page, program: Program): Promise<Findings> {
  const { className, runs, talk } = program;
  return page.evaluate(
    async ({ className, runs, module }) => {
      const { libraries } = window as unknown as {
        libraries: Record<string, { getByName(name: string): Runs }>;
      };
      const objects = libraries[className]!;
      const found = runs ? await objects.getByName('one').run() : {};
      const talking = module && ((await import(module)) as { talk: Talk });
      const heard =
        talking && (await talking.talk((url, init) => objects.getByName('room').fetch(url, init)));
      return JSON.parse(JSON.stringify({ ...(found as object), ...heard })) as Findings;
    },
    { className, runs, module: talk?.module },
  );
}
