// Entry of the benchmark's page.

import { render } from 'preact';
import { keepOffline } from '../offline/register.ts';
import { BenchPage } from './bench-page.tsx';

// What is deleted at once needs no promise of the browser to keep it, for which Firefox would ask the visitor.
if ('storage' in navigator)
  Object.defineProperty(navigator.storage, 'persist', { value: undefined });

const root = document.getElementById('app')!;
root.replaceChildren();
render(<BenchPage />, root);
keepOffline();
