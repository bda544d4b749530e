// Starts the API page, which shows the emulated provider on any date.

import { render } from 'preact';
import { keepOffline } from '../offline/register.ts';
import { SiteHead } from '../ui/site-head.tsx';
import { ProviderPanel } from './provider-panel.tsx';

function ApiPage() {
  return (
    <div class="playground">
      <SiteHead current="./api.html" />
      <main>
        <ProviderPanel />
      </main>
    </div>
  );
}

const root = document.getElementById('app')!;
root.replaceChildren();
render(<ApiPage />, root);
keepOffline();
