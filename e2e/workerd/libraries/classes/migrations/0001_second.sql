ALTER TABLE `books` ADD `published` integer;--> statement-breakpoint
ALTER TABLE `books` ADD `cover` blob;
