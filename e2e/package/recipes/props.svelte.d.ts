// Types of props.svelte.js.

export const props: Record<string, unknown>;
