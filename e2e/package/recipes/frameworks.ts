// Small apps around the examples of docs/live.md, one for each framework: notes of a tag, which can change.

import Notes from 'recipe:live.svelte';
import VueNotes from 'recipe:live.vue';
import { createRenderEffect, createRoot, createSignal } from 'solid-js';
import { mount, unmount } from 'svelte';
import { createApp, h, ref } from 'vue';
import { useLive } from '../../../packages/adapters/solid/index.ts';
import type { Live, RemoteStorage } from '../../../src/index.ts';
import { props } from './props.svelte.js';

interface Note {
  readonly id: number;
  readonly body: string;
}

type Sql = Pick<RemoteStorage['sql'], 'live'>;

const QUERY = 'SELECT id, body FROM note WHERE tag = ?';

interface Shown {
  choose(tag: string): void;
  end(): void;
}

/** Each shows the notes of a tag in the element. */
const frameworks: Record<string, (sql: Sql, element: HTMLElement) => Shown> = {
  vue(sql, element) {
    const tag = ref('a');
    const app = createApp(() => h(VueNotes, { storage: { sql }, tag: tag.value }));
    app.mount(element);
    return { choose: (name) => (tag.value = name), end: () => app.unmount() };
  },
  solid(sql, element) {
    return createRoot((end) => {
      const [tag, choose] = createSignal('a');
      const notes = useLive<Note[]>(() => sql.live(QUERY, tag()) as Live<never>);
      createRenderEffect(() => {
        const bodies = (notes.value ?? []).map(({ body }) => body);
        element.textContent = `${notes.error ?? ''}${bodies.join('')}`;
      });
      return { choose, end };
    });
  },
  svelte(sql, element) {
    Object.assign(props, { storage: { sql }, tag: 'a' });
    const component = mount(Notes, { target: element, props });
    return { choose: (tag) => Object.assign(props, { tag }), end: () => void unmount(component) };
  },
};

let listeners = 0;

/** Live values of the storage whose listeners are counted. */
function counted({ sql }: RemoteStorage): Sql {
  return {
    live: (query, ...bindings) => {
      const live = sql.live<never>(query, ...bindings);
      const subscribe: (typeof live)['subscribe'] = (listener, options) => {
        listeners += 1;
        const stop = live.subscribe(listener, options);
        return () => {
          listeners -= 1;
          stop();
        };
      };
      return Object.assign(Object.create(live), {
        subscribe,
        getState: live.getState,
        getSnapshot: live.getSnapshot,
      });
    },
  };
}

const recipes = {
  show(framework: string, storage: RemoteStorage): Shown {
    const element = document.body.appendChild(document.createElement('div'));
    element.id = 'shown';
    return frameworks[framework]!(counted(storage), element);
  },
  listeners: () => listeners,
};

declare global {
  interface Window {
    recipes: typeof recipes;
    shown: Shown;
  }
}

window.recipes = recipes;
