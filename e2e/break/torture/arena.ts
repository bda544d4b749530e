// Several tabs that write through one profile and hold live reads, and the faults that hit them.
//
// Keeps true: faults hit tabs in the middle of writes, when every live read has shown the writes
// acknowledged before; a tab that ends is replaced; the longest time without an acknowledgement is measured
// over all tabs together, except while none of them runs, or the disk is full. A disk that is full has room again once
// the next fault has hit.

import type { BrowserContext, Page } from '@playwright/test';
import { killBrowser, killRenderers } from '../../browsers/processes.ts';
import type { Profile } from '../../browsers/profile.ts';
import { committedIn, Ledger, type LoadEvent, type Places } from './ledger.ts';
import type {} from './page.ts';
import { type Fault, KINDS, type Step } from './plan.ts';
import { type Sighting, Sightings } from './sightings.ts';
import type { SmallDisk } from './small-disk.ts';

const TABS = 3;

/** How long nothing may be acknowledged, or shown by a live read, before it counts as hanging. */
const HANGING_MS = 90_000;

export interface Gap {
  readonly durationMs: number;
  /** The last fault. */
  readonly after: Fault | 'the start';
}

export interface ArenaOptions {
  /** The end of each tab's address. */
  readonly search?: string;
  readonly disk?: SmallDisk | null;
  readonly seesWhileFull?: boolean;
}

export class Arena {
  readonly ledger: Ledger;
  readonly sightings = new Sightings();
  readonly #profile: Profile;
  readonly #origin: string;
  /** The address of the page that writes. */
  readonly #address: string;
  /** The small disk; null for the disk of this machine. */
  readonly #disk: SmallDisk | null;
  /** Live reads go on while the disk is full: there, a write is refused at once, and no read waits for one. */
  readonly #seesWhileFull: boolean;
  #context: BrowserContext | null = null;
  #tabs: Page[] = [];
  #tabCount = 0;
  #failovers = 0;
  readonly #names = new Map<Page, string>();
  /** Tabs being opened, which write as soon as they are. */
  #opening: Promise<void>[] = [];
  #lastMs: number | null = null;
  #longest: Gap = { durationMs: 0, after: 'the start' };
  #fault: Gap['after'] = 'the start';
  #onProgress = (): void => {};

  constructor(
    profile: Profile,
    origin: string,
    { search = '', disk = null, seesWhileFull = true }: ArenaOptions = {},
  ) {
    this.#profile = profile;
    this.#origin = origin;
    this.#address = `${origin}/${search}`;
    this.#disk = disk;
    this.#seesWhileFull = seesWhileFull;
    this.ledger = new Ledger({ isSmall: disk !== null });
  }

  /** The longest time without an acknowledgement so far. */
  get longestGap(): Gap {
    return this.#longest;
  }

  /** How many faults took a leader or reset an object. */
  get failovers(): number {
    return this.#failovers;
  }

  /**
   * Lets the writes of the step be acknowledged, or refused by a full disk, and shown by all live reads, then does its fault.
   */
  async round(step: Step): Promise<void> {
    await this.#fill();
    const wasFull = this.#disk?.isFull === true;
    if (wasFull) {
      await this.#refused(step.writes);
    } else {
      await this.#makeRoom(); // for the writes of this round
      await this.#acknowledged(step.writes);
    }
    if (!wasFull || this.#seesWhileFull) await this.#seen(this.ledger.places);
    this.#fault = step.fault;
    await this.#perform(step);
    if (wasFull && step.fault !== 'fill the disk') await this.#makeRoom();
  }

  /** Stops all writing, looks at everything that is stored, and lets tabs write again. */
  async audit(): Promise<string[]> {
    await this.#fill();
    await this.#makeRoom();
    await Promise.all(this.#opening); // a tab that starts later would write during the audit
    await this.#acknowledged(1);
    this.#lastMs = null;
    await Promise.all(this.#tabs.map((page) => page.evaluate(() => window.tab.stop())));
    this.sightings.pause();
    const found = await this.#tabs[0]!.evaluate(() => window.tab.find());
    const committed = committedIn(found);
    const last = Object.entries(committed).map(([read, entries]) => [read, entries.length]);
    const silent = await this.sightings.silent(Object.fromEntries(last), HANGING_MS);
    const faults = [...this.ledger.audit(found), ...silent, ...this.sightings.audit(committed)];
    for (const page of this.#tabs) this.#start(page);
    return faults;
  }

  async #fill(): Promise<void> {
    this.#context ??= await this.#launch();
    while (this.#tabs.length < TABS) {
      const page = await this.#context.newPage();
      this.#tabs.push(page);
      await page.goto(this.#address);
      this.#start(page);
    }
  }

  async #launch(): Promise<BrowserContext> {
    const context = await this.#profile.launch();
    await this.#disk?.attach(context);
    await context.exposeFunction('report', (event: LoadEvent) => this.#hear(event));
    await context.exposeFunction('see', (seen: readonly Sighting[]) => {
      const nowMs = performance.now();
      for (const sighting of seen) this.sightings.enter(sighting, nowMs);
    });
    return context;
  }

  #start(page: Page): void {
    const name = `t${++this.#tabCount}`;
    this.#forget(page);
    this.#names.set(page, name);
    this.sightings.begin(name);
    this.#lastMs ??= performance.now();
    const starting = page
      .waitForFunction(() => 'tab' in window)
      .then(() => page.evaluate((name) => window.tab.start(name), name))
      .then(() => {
        if (this.#names.get(page) === name) this.sightings.began(name);
      });
    // A fault may take the tab while it starts.
    const started = starting.catch(() => {});
    this.#opening.push(started);
    void started.finally(() => {
      this.#opening = this.#opening.filter((other) => other !== started);
    });
  }

  #hear(event: LoadEvent): void {
    this.ledger.enter(event);
    if (event.failure !== null) {
      if (this.#disk?.isFull) this.#onProgress();
      return;
    }
    const nowMs = performance.now();
    const durationMs = this.#lastMs === null ? 0 : nowMs - this.#lastMs;
    if (durationMs > this.#longest.durationMs) this.#longest = { durationMs, after: this.#fault };
    if (this.#lastMs !== null) this.#lastMs = nowMs;
    this.#onProgress();
  }

  #acknowledged(writes: number): Promise<void> {
    return this.#answered('acknowledged', writes);
  }

  /** Waits until the full disk has refused this many writes. */
  #refused(writes: number): Promise<void> {
    return this.#answered('refused', writes);
  }

  #answered(answer: 'acknowledged' | 'refused', writes: number): Promise<void> {
    const enough = this.ledger[answer] + writes;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`Nothing was ${answer} for ${HANGING_MS / 1000} s.`)),
        HANGING_MS,
      );
      let last = this.ledger[answer];
      this.#onProgress = () => {
        if (this.ledger[answer] > last) timer.refresh();
        last = this.ledger[answer];
        if (last < enough) return;
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Until the live reads of all tabs have shown them. */
  async #seen(places: Places): Promise<void> {
    const silent = await this.sightings.silent(places, HANGING_MS);
    if (silent.length === 0) return;
    throw new Error(`Live reads showed nothing for ${HANGING_MS / 1000} s: ${silent.join('; ')}.`);
  }

  async #perform(step: Step): Promise<void> {
    if (await this.#takesLeader(step)) this.#failovers += 1;
    await this.#inflict(step);
  }

  /** True when a leader or an instance has to be replaced after the fault. */
  async #takesLeader({ fault, tab }: Step): Promise<boolean> {
    if (fault === 'close a tab that follows' || fault === 'fill the disk') return false;
    if (fault !== 'navigate away' && fault !== 'reload' && fault !== 'crash the page') return true;
    const page = this.#chosen(tab);
    const leads = await page.evaluate((kinds) => Promise.all(kinds.map(window.tab.leads)), KINDS);
    return leads.includes(true);
  }

  async #inflict({ fault, kind, tab }: Step): Promise<void> {
    switch (fault) {
      case 'close the leading tab':
        return await this.#close(await this.#leading(kind));
      case 'close a tab that follows': {
        const leading = await this.#leading(kind);
        const others = this.#tabs.filter((page) => page !== leading);
        return await this.#close(others[tab % others.length]!);
      }
      case 'terminate the leading worker': {
        const page = await this.#leading(kind);
        await page.evaluate((kind) => window.tab.terminate(kind), kind);
        return;
      }
      case 'navigate away': {
        const page = this.#chosen(tab);
        this.#forget(page);
        await page.goto(`${this.#origin}/blank.html`);
        await page.goto(this.#address);
        return this.#start(page);
      }
      case 'reload': {
        const page = this.#chosen(tab);
        this.#forget(page);
        await page.reload();
        return this.#start(page);
      }
      case 'abort the object':
        return await this.#chosen(tab).evaluate((kind) => window.tab.abort(kind), kind);
      case 'crash the page': {
        const page = this.#chosen(tab);
        const crashed = page.waitForEvent('crash');
        const cdp = await this.#context!.newCDPSession(page);
        cdp.send('Page.crash').catch(() => {}); // it is answered by nobody
        await crashed;
        return await this.#close(page);
      }
      case 'kill the renderers':
        return await this.#killRenderers();
      case 'kill the browser':
        return await this.#killBrowser();
      case 'fill the disk':
        return await this.#fillDisk(this.#chosen(tab));
    }
  }

  async #fillDisk(page: Page): Promise<void> {
    await this.#makeRoom();
    await page.waitForFunction(() => 'tab' in window);
    await page.evaluate(() => window.tab.dropBallast());
    await this.#disk!.fill();
    this.#lastMs = null;
    await page.evaluate(() => window.tab.fillDisk());
  }

  async #makeRoom(): Promise<void> {
    if (this.#disk === null) return;
    await this.#disk.makeRoom();
    if (this.#tabs.length > 0) this.#lastMs ??= performance.now();
  }

  async #killRenderers(): Promise<void> {
    const pages = this.#tabs;
    for (const page of pages) this.#forget(page);
    this.#tabs = [];
    const crashes = pages.map((page) => page.waitForEvent('crash'));
    killRenderers(this.#profile.directory);
    await Promise.all(crashes);
    this.#lastMs = null;
    await Promise.all(pages.map((page) => page.close()));
  }

  async #killBrowser(): Promise<void> {
    const closed = this.#context!.waitForEvent('close');
    killBrowser(this.#profile.directory);
    await closed;
    this.#disk?.detach();
    this.#lastMs = null;
    for (const page of this.#tabs) this.#forget(page);
    this.#tabs = [];
    this.#context = null;
  }

  /** The page's live reads are gone, or about to go. */
  #forget(page: Page): void {
    const name = this.#names.get(page);
    if (name === undefined) return;
    this.#names.delete(page);
    this.sightings.end(name);
  }

  #chosen(tab: number): Page {
    return this.#tabs[tab % this.#tabs.length]!;
  }

  /** The tab whose worker leads, as soon as one does. */
  async #leading(kind: Step['kind']): Promise<Page> {
    for (;;) {
      for (const page of this.#tabs) {
        if (await page.evaluate((kind) => window.tab.leads(kind), kind)) return page;
      }
      await Promise.race(this.#opening);
    }
  }

  async #close(page: Page): Promise<void> {
    this.#tabs = this.#tabs.filter((other) => other !== page);
    this.#forget(page);
    await page.close();
  }
}
