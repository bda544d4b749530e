// Rounds of every contender in one browser, in alternation: the time of an operation compared with others'
// times.

import type { Page } from '@playwright/test';
import { type Measured, measureRow, rotated, type Taker } from '../../../demo/bench/rounds.ts';
import type { Place, Row } from '../../../demo/bench/rows.ts';
import type { Profile } from '../../browsers/profile.ts';
import { BY_COMLINK, CONTENDERS, type Contender, LIMITS } from './contenders.ts';
import { bundlePeers, PEER_HEADERS, type PeerFiles, servePeers } from './peer-site.ts';
import { compressed, serveSlowly } from './slow-site.ts';

/** How long a page may take on a busy machine, where some contenders create a database cluster first. */
const ANSWER_MS_MAX = 120_000;

/** A browser releases the files of a closed page a moment later; some contenders do not wait for them. */
const RELEASE_MS = 500;

export async function peerFiles(): Promise<PeerFiles> {
  return await bundlePeers(new Set(CONTENDERS.map(({ kit }) => kit)));
}

/** Measures the rows that `wanted` names. */
export async function measureRows(
  profile: Profile,
  files: PeerFiles,
  wanted: readonly (readonly [row: Row, place: Place])[],
  roundCount: number,
): Promise<Measured[]> {
  const site = await servePeers(files);
  try {
    const pages: [Contender, Page][] = [];
    for (const contender of CONTENDERS) {
      pages.push([contender, await openPage(profile, site.origin, contender)]);
    }
    const measured: Measured[] = [];
    const takers: Taker[] = pages.map(([{ name }, page]) => ({
      name,
      time: (row, place) =>
        page.evaluate(([row, place]) => window.contender.time(row, place), [row, place] as const),
    }));
    for (const [row, place] of wanted) {
      measured.push(await measureRow(row, place, takers, roundCount));
      console.error(`${place}: ${row.name} measured`);
    }
    for (const [, page] of pages) await page.close();
    return measured;
  } finally {
    await site.close();
  }
}

async function openPage(profile: Profile, origin: string, { name, kit, configuration }: Contender) {
  const page = await newPage(profile, name);
  await page.goto(`${origin}/${kit}/`);
  await page.waitForFunction(() => window.contender !== undefined);
  await page.evaluate((c) => window.contender.open(c), configuration);
  await page.evaluate(() => window.contender.fill());
  return page;
}

async function newPage(profile: Profile, contender: string): Promise<Page> {
  const page = await profile.newPage();
  page.setDefaultTimeout(ANSWER_MS_MAX);
  page.on('pageerror', (error) => console.error(`${contender}: ${error.stack ?? error}`));
  return page;
}

const VISITED = CONTENDERS.filter(({ name }) => name !== LIMITS && name !== BY_COMLINK);

const visitRow = (name: string) => ({
  name,
  place: 'visit' as const,
  rounds: new Map<string, number[]>(),
});

/** Navigation to the first answer: of an origin that was never visited, and of the same once more. */
export async function measureVisits(
  profile: Profile,
  files: PeerFiles,
  roundCount: number,
): Promise<Measured[]> {
  const measured = ['first visit', 'second visit'].map(visitRow);
  for (let round = 0; round <= roundCount; round++) {
    for (const contender of rotated(VISITED, round)) {
      const site = await servePeers(files);
      for (const { rounds } of measured) {
        const time = await timeVisit(profile, site.origin, contender);
        if (round > 0) rounds.set(contender.name, [...(rounds.get(contender.name) ?? []), time]);
      }
      await site.close();
    }
  }
  return measured;
}

/** A network of a phone: the bytes of a first visit count more than its computation. */
const SLOW = { latencyMs: 60, bytesPerSecond: 1_250_000 };

export async function measureSlowVisits(
  profile: Profile,
  files: PeerFiles,
  roundCount: number,
): Promise<Measured> {
  const measured = visitRow('first visit, 60 ms, 10 Mbit/s');
  const sent = compressed(files);
  for (let round = 0; round <= roundCount; round++) {
    for (const contender of rotated(VISITED, round)) {
      const site = await serveSlowly(sent, SLOW, PEER_HEADERS);
      const time = await timeVisit(profile, site.origin, contender);
      const { rounds } = measured;
      if (round > 0) rounds.set(contender.name, [...(rounds.get(contender.name) ?? []), time]);
      await site.close();
    }
  }
  return measured;
}

/** Microseconds. */
async function timeVisit(profile: Profile, origin: string, contender: Contender): Promise<number> {
  const { name, kit, configuration } = contender;
  const query = encodeURIComponent(JSON.stringify(configuration));
  const page = await newPage(profile, name);
  await page.goto(`${origin}/${kit}/?${query}`);
  const answered = await page.waitForFunction(() => window.firstAnswerMs);
  const elapsedMs = (await answered.jsonValue()) as number;
  await page.close();
  await new Promise((resolve) => setTimeout(resolve, RELEASE_MS));
  return elapsedMs * 1000;
}
