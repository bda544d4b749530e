// The entry for Svelte, in compiled components of a DOM and of a server. The tests give the results of the live values.

import '../testing/dom.ts';

import { build, type Plugin } from 'esbuild';
import { compile, compileModule } from 'svelte/compiler';
import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { fakeLives } from '../testing/fake-lives.ts';
import { FakeStack } from '../testing/fake-stack.ts';

const LIVE = `
  <script>
    import { useLive } from './index.ts';
    const { read, shown } = $props();
    const { name } = $derived(shown);
    const state = $derived(useLive(read(name)));
  </script>
  <p>{state.status} {state.value ?? '-'} {state.error ?? ''}</p>`;

const CONTROLS = `
  <script>
    import { useConnectionStatus, useUndo } from './index.ts';
    const { source, shown, onControls } = $props();
    const status = useConnectionStatus(source);
    const controls = $derived(useUndo(shown.stack));
    $effect(() => onControls(controls));
  </script>
  <p>{status.state} {status.pendingWrites} {controls.canUndo ? controls.undoLabel : '-'}</p>`;

/** Makes the esbuild plugin that compiles the components for a browser or a server. */
const svelte = (generate: 'client' | 'server'): Plugin => ({
  name: 'svelte',
  setup(bundle) {
    const modules: Readonly<Record<string, () => string>> = {
      './live.svelte': () => compile(LIVE, { generate }).js.code,
      './controls.svelte': () => compile(CONTROLS, { generate }).js.code,
      './shown.svelte.js': () =>
        compileModule('export const shown = $state({ name: "a", stack: null });', { generate }).js
          .code,
    };
    bundle.onResolve({ filter: /\.svelte(\.js)?$/ }, ({ path, kind }) =>
      path in modules && kind !== 'entry-point' ? { path, namespace: 'svelte' } : undefined,
    );
    bundle.onLoad({ filter: /./, namespace: 'svelte' }, ({ path }) => ({
      contents: modules[path]!(),
      resolveDir: import.meta.dirname,
    }));
  },
});

interface Bundle {
  mount(component: unknown, options: { target: unknown; props: object }): object;
  unmount(component: object): Promise<void>;
  flushSync(): void;
  render(component: unknown, options: { props: object }): { body: string };
  readonly shown: { name: string; stack: unknown };
  readonly Live: unknown;
  readonly Controls: unknown;
}

async function bundled(generate: 'client' | 'server'): Promise<Bundle> {
  const { outputFiles } = await build({
    stdin: {
      contents: `
        export { default as Live } from './live.svelte';
        export { default as Controls } from './controls.svelte';
        export { shown } from './shown.svelte.js';
        ${generate === 'client' ? "export { mount, unmount, flushSync } from 'svelte'" : "export { render } from 'svelte/server'"};`,
      resolveDir: import.meta.dirname,
    },
    bundle: true,
    format: 'esm',
    platform: generate === 'client' ? 'browser' : 'node',
    conditions: generate === 'client' ? ['browser'] : [],
    write: false,
    plugins: [svelte(generate)],
  });
  const code = Buffer.from(outputFiles[0]!.contents).toString('base64');
  return import(`data:text/javascript;base64,${code}`);
}

let client: Bundle;
let handle: ReturnType<typeof fakeLives>;
let element: HTMLElement;
let mounted: object[];

beforeAll(async () => {
  client = await bundled('client');
});

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  handle = fakeLives();
  element = document.createElement('div');
  mounted = [];
  client.shown.name = 'a';
});

afterEach(async () => {
  for (const component of mounted) await client.unmount(component);
  await settled();
  expect(handle.open()).toEqual([]);
  vi.useRealTimers();
});

/** Waits until ended reads are closed: a subscriber leaves in a microtask, and its live value ends in the next task. */
async function settled() {
  await Promise.resolve();
  vi.advanceTimersByTime(1);
}

function show(component: unknown, props: object) {
  const shown = client.mount(component, {
    target: element,
    props: { ...props, shown: client.shown },
  });
  mounted.push(shown);
  return () => {
    mounted.splice(mounted.indexOf(shown), 1);
    return client.unmount(shown);
  };
}

const text = () => {
  client.flushSync();
  return element.textContent!.trim();
};

test('[VUE1] useLive shows pending, a kept value, each value and each failure with the value before it', () => {
  show(client.Live, handle);
  expect(text()).toBe('pending -');
  handle.kept('a', 'old');
  expect(text()).toBe('stale old');
  handle.result('a', 'one');
  expect(text()).toBe('ready one');
  handle.fail('a', 'broken');
  expect(text()).toBe('failed one broken');
  handle.result('a', 'two');
  expect(text()).toBe('ready two');
});

test('[VUE2] another read replaces the one before; components with an equal one share it; the last one ends it', async () => {
  show(client.Live, handle);
  const end = show(client.Live, handle);
  client.flushSync();
  handle.result('a', 'one');
  expect(text()).toBe('ready one ready one');
  expect(handle.counts).toEqual({ opened: 1, closed: 0 });
  client.shown.name = 'b';
  expect(text()).toBe('pending - pending -');
  await settled();
  expect(handle.open()).toEqual(['b']);
  handle.result('b', 'other');
  expect(text()).toBe('ready other ready other');
  await end();
  await settled();
  expect(handle.open()).toEqual(['b']);
  expect(text()).toBe('ready other');
});

test.each([undefined, null, 5, {}, Promise.resolve()])(
  '[VUE1] another argument is INVALID_ARGUMENT: %o',
  (wrong) => {
    expect(() => show(client.Live, { read: () => wrong })).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    );
  },
);

test('[VUE4] [UNDO10] useConnectionStatus and useUndo follow until their component is gone', async () => {
  const source = Object.assign(new EventTarget(), { state: 'following', pendingWrites: 0 });
  const stack = new FakeStack();
  const given: { undo(): Promise<boolean>; skip(): boolean }[] = [];
  const onControls = (controls: (typeof given)[0]) => given.push(controls);
  const end = show(client.Controls, { source, onControls });
  expect(text()).toBe('following 0 -');
  expect([await given[0]!.undo(), given[0]!.skip()]).toEqual([false, false]);
  source.pendingWrites = 1;
  source.dispatchEvent(new Event('statechange'));
  expect(text()).toBe('following 1 -');
  client.shown.stack = stack;
  expect(text()).toBe('following 1 -');
  stack.become({ canUndo: true, undoLabel: 'typing' });
  expect(text()).toBe('following 1 typing');
  expect(await given.at(-1)!.undo()).toBe(true);
  expect(stack.calls).toEqual(['undo']);

  const removed = [source, stack].map((target) => vi.spyOn(target, 'removeEventListener'));
  await end();
  await settled();
  expect(removed[0]).toHaveBeenCalledWith('statechange', expect.any(Function));
  expect(removed[1]).toHaveBeenCalledWith('change', expect.any(Function));
});

test('[VUE3] on a server nothing is read, a live value is pending and a connection connecting', async () => {
  const server = await bundled('server');
  // The live value already has a result on the server, which must not be shown.
  const live = handle.read('a');
  const stop = live.subscribe(() => {});
  handle.result('a', 'one');
  const { opened } = handle.counts;
  vi.stubGlobal('document', undefined);
  try {
    const rendered = (component: unknown, props: object) =>
      server.render(component, { props }).body.replaceAll(/<!--.*?-->/g, '');
    expect(rendered(server.Live, { read: () => live, shown: { name: 'a' } })).toContain(
      '<p>pending - </p>',
    );
    const source = Object.assign(new EventTarget(), { state: 'leading', pendingWrites: 1 });
    expect(rendered(server.Controls, { source, shown: { stack: null } })).toContain(
      '<p>connecting 0 -</p>',
    );
  } finally {
    vi.unstubAllGlobals();
    stop();
  }
  expect(handle.counts.opened).toBe(opened);
});
