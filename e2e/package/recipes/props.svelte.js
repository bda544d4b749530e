// Properties of a Svelte component that can change.

export const props = $state({ storage: undefined, tag: 'a' });
