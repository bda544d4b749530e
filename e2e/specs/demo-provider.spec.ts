// The demo's API panel: the emulated provider in the page, and a date that is moved.

import { expect, test } from '../browsers/fixtures.ts';
import { LONG, ONCE, RELEASE } from '../browsers/tags.ts';

test('[MG43] the date is moved, and the changes of that day are shown; the state outlives a reload', {
  tag: [LONG, ONCE],
}, async ({ context, demoSite }) => {
  const page = await context.newPage();
  const address = `${demoSite.origin}/api.html`;
  await page.goto(address);
  const answer = (day: string) => page.getByRole('region', { name: `Answer on ${day}` });

  await page.getByRole('button', { name: 'Records' }).click();
  await expect(answer('2024-11-30')).toContainText('192.0.2.1');
  await expect(answer('2024-11-30')).not.toContainText('zone_name');
  await expect(answer('2024-11-29')).toContainText('"zone_name": "example.com"');

  await page.getByRole('button', { name: 'Later change' }).click();
  await expect(page.getByLabel('Date')).toHaveValue('2025-03-14');
  await expect(answer('2025-03-14')).toContainText('same as the day before');

  await page.getByRole('button', { name: 'Rules' }).click();
  await expect(answer('2025-06-15')).toContainText('410');
  await expect(answer('2025-06-14')).toContainText('200');
  await expect(answer('2025-06-14')).toContainText(/deprecation: @\d+/);

  await page.getByRole('button', { name: 'Remember this state' }).click();
  await page.getByRole('button', { name: 'SRV by its data' }).click();
  await expect(answer('2024-05-31')).toContainText('400');
  await page.getByLabel('Date').fill('2024-05-30');
  await page.getByRole('button', { name: 'Send' }).click();
  await expect(answer('2024-05-30')).toContainText('200');
  await page.reload();
  await page.getByRole('button', { name: 'Records' }).click();
  await expect(answer('2024-11-30')).toContainText('"SRV"');
});

test('[MG43] the provider goes back to a moment that was remembered', {
  tag: [LONG, ONCE, RELEASE],
}, async ({ context, demoSite }) => {
  const page = await context.newPage();
  await page.goto(`${demoSite.origin}/api.html`);
  const answers = page.getByRole('region', { name: /Answer on 2024-11-30/ });
  await page.getByRole('button', { name: 'Records' }).click();
  await expect(answers).toContainText('"total_count": 1');
  await page.getByRole('button', { name: 'Remember this state' }).click();
  await page.getByLabel('Method').selectOption('POST');
  await page.getByLabel('Body').fill('{"type":"TXT","name":"x","content":"y","ttl":1}');
  await page.getByRole('button', { name: 'Send' }).click();
  await expect(answers).toContainText('"TXT"');
  await page.getByRole('button', { name: 'Records' }).click();
  await expect(answers).toContainText('"total_count": 2');
  await page.getByRole('button', { name: 'Restore it' }).click();
  await expect(answers).toContainText('"total_count": 1');
});
