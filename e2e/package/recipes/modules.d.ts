// The examples, as the page that shows them imports them.

declare module 'recipe:live.vue' {
  import type { Component } from 'vue';

  const component: Component;
  export default component;
}

declare module 'recipe:live.svelte' {
  import type { Component } from 'svelte';

  const component: Component<Record<string, unknown>>;
  export default component;
}
