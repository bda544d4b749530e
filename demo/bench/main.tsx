// Starts the benchmark's page.

import { render } from 'preact';
import { keepOffline } from '../offline/register.ts';
import { BenchPage } from './bench-page.tsx';

// Data that is deleted at once needs no persistence, for which Firefox would ask the visitor.
if ('storage' in navigator)
  Object.defineProperty(navigator.storage, 'persist', { value: undefined });

const root = document.getElementById('app')!;
root.replaceChildren();
render(<BenchPage />, root);
keepOffline();
