// The recipes, as the pages that use them import them.

declare module 'recipe:vue.ts' {
  import type { ShallowRef } from 'vue';
  import type { Live, LiveState } from '../../../src/index.ts';

  export function useLive<T>(read: () => Live<T>): ShallowRef<LiveState<T>>;
}

declare module 'recipe:solid.ts' {
  import type { Accessor } from 'solid-js';
  import type { Live, LiveState } from '../../../src/index.ts';

  export function useLive<T>(read: () => Live<T>): Accessor<LiveState<T>>;
}

declare module 'recipe:live.svelte' {
  import type { Component } from 'svelte';

  const component: Component<Record<string, unknown>>;
  export default component;
}
