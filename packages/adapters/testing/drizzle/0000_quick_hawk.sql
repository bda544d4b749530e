CREATE TABLE `author` (
	`id` integer PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`tags` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `author_name_unique` ON `author` (`name`);
