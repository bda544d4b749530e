// The runtimes besides Node that run the package before each release, in the versions that the documents name.

export const RUNTIMES = [
  { name: 'Deno', version: '2.9.6', parameters: ['run', '--allow-all'] },
  { name: 'Bun', version: '1.4.5', parameters: [] },
] as const;

export type Runtime = (typeof RUNTIMES)[number];
